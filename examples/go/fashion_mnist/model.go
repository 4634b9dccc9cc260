// SPDX-License-Identifier: Apache-2.0

package main

// A perceptron 784-128-10 (ReLU, softmax, cross-entropy) on slices. It does not depend on replicas. Gradients
// and totals are sums over its rows, so their sums over replicas are sums over the batch.
const (
	inputs  = pixels
	hidden  = 128
	classes = 10
)

// The four arrays of parameters. Weights are [from][to], row-major. Momentum and gradients have the same arrays.
const (
	hiddenWeights = iota
	hiddenBias
	outputWeights
	outputBias
	partCount
)

type part struct {
	name  string
	shape []int
}

func (p part) elements() int {
	elements := 1
	for _, length := range p.shape {
		elements *= length
	}
	return elements
}

var parts = [partCount]part{
	hiddenWeights: {"hidden/weights", []int{inputs, hidden}},
	hiddenBias:    {"hidden/bias", []int{hidden}},
	outputWeights: {"output/weights", []int{hidden, classes}},
	outputBias:    {"output/bias", []int{classes}},
}

// tensors has one slice for each part.
type tensors [partCount][]float32

// The totals that are summed over rows, beside the gradients.
const (
	totalLoss = iota
	totalCorrect
	totalRows
	totalCount
)

// workspace holds activations and their gradients.
type workspace struct {
	hidden, hiddenGradient []float32 // [rows][hidden]
	output                 []float32 // [rows][classes]: logits, then their gradient
}

func newWorkspace(maxRows int) workspace {
	return workspace{make([]float32, maxRows*hidden), make([]float32, maxRows*hidden), make([]float32, maxRows*classes)}
}

// random is splitmix64. It gives the same numbers in every language.
func random(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	bits := *state
	bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9
	bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb
	return bits ^ (bits >> 31)
}

// initialise sets random weights by He's rule and zero biases. They depend on the seed only, not on the machine.
func initialise(seed uint64) (parameters tensors) {
	for i, part := range parts {
		parameters[i] = make([]float32, part.elements())
		if len(part.shape) != 2 {
			continue
		}
		bound := squareRoot(6 / float32(part.shape[0]))
		for k := range parameters[i] {
			unit := float32(random(&seed)>>40) / (1 << 24) // 24 bits: exact in a float32
			parameters[i][k] = bound * float32(float32(2*unit)-1)
		}
	}
	return parameters
}

// evaluate sums the loss and counts correct answers. There may be no rows.
func evaluate(p *tensors, images []float32, labels []uint8, w *workspace, totals []float64) {
	for i := range totals {
		totals[i] = 0
	}
	rows := len(labels)
	if rows == 0 {
		return
	}
	forward(images, p[hiddenWeights], p[hiddenBias], w.hidden, rows)
	for i, x := range w.hidden[:rows*hidden] {
		if !(x > 0) {
			w.hidden[i] = 0
		}
	}
	forward(w.hidden, p[outputWeights], p[outputBias], w.output, rows)
	softmaxCrossEntropy(w.output[:rows*classes], labels, totals)
}

// gradients does the same as evaluate. It also overwrites g with the gradients of the summed loss. It cannot compute
// the mean, because only the caller knows the rows of all replicas.
func gradients(p *tensors, images []float32, labels []uint8, w *workspace, g *tensors, totals []float64) {
	evaluate(p, images, labels, w, totals)
	rows := len(labels)
	if rows == 0 {
		for _, gradient := range g {
			clear(gradient)
		}
		return
	}
	backward(w.hidden, w.output, g[outputWeights], g[outputBias], rows)
	multiplyTransposedB(rows, hidden, classes, w.output, p[outputWeights], w.hiddenGradient)
	for i, x := range w.hidden[:rows*hidden] {
		if x <= 0 {
			w.hiddenGradient[i] = 0
		}
	}
	backward(images, w.hiddenGradient, g[hiddenWeights], g[hiddenBias], rows)
}

// forward: result = input * weights + bias in every row
func forward(input, weights, bias, result []float32, rows int) {
	outputs := len(bias)
	for row := 0; row < rows; row++ {
		copy(result[row*outputs:], bias)
	}
	multiply(rows, outputs, len(weights)/outputs, input, weights, 1, result)
}

// backward: weightsGradient = input^T * outputGradient; biasGradient = its column sums
func backward(input, outputGradient, weightsGradient, biasGradient []float32, rows int) {
	outputs := len(biasGradient)
	multiplyTransposedA(len(weightsGradient)/outputs, outputs, rows, input, outputGradient, weightsGradient)
	clear(biasGradient)
	for row := 0; row < rows; row++ {
		for i, x := range outputGradient[row*outputs : (row+1)*outputs] {
			biasGradient[i] += x
		}
	}
}

// softmaxCrossEntropy replaces logits by the gradient of the cross-entropy (softmax minus the right answer). It adds to
// the totals.
func softmaxCrossEntropy(output []float32, labels []uint8, totals []float64) {
	for row, label := range labels {
		logits := output[row*classes : (row+1)*classes]
		answer := 0
		for i, x := range logits {
			if x > logits[answer] {
				answer = i
			}
		}
		largest := logits[answer]
		right := logits[label] - largest

		for i := range logits {
			logits[i] -= largest
		}
		exponentials(logits)
		sum := float32(0)
		for _, x := range logits {
			sum += x
		}
		for i := range logits {
			logits[i] /= sum
		}
		logits[label]--

		totals[totalLoss] += float64(logarithm(sum) - right)
		if answer == int(label) {
			totals[totalCorrect]++
		}
		totals[totalRows]++
	}
}

// update does one step of SGD with momentum. scale multiplies the summed gradients: 1 / rows gives their mean. The
// conversions keep Go from fusing a product and a sum, which would round differently.
func update(p, momentum, g *tensors, scale, rate, decay float32) {
	const smallestNormal = 0x1p-126
	for part := range p {
		parameters, momentum, gradient := p[part], momentum[part], g[part]
		for i := range parameters {
			next := float32(decay*momentum[i]) + float32(scale*gradient[i])
			// The momentum of units that never fire would become subnormal. Subnormal numbers are slow.
			if next < smallestNormal && next > -smallestNormal {
				next = 0
			}
			momentum[i] = next
			parameters[i] -= float32(rate * next)
		}
	}
}

func clear(x []float32) {
	for i := range x {
		x[i] = 0
	}
}
