// SPDX-License-Identifier: Apache-2.0

// First gives each replica a number and sums the numbers. Every replica ends with the sum.
package main

import (
	"fmt"
	"log"

	"example.org/libmdist/src/go/mdist"
)

func main() {
	config, err := mdist.NewConfig()
	if err != nil {
		log.Fatal(err)
	}
	if err := config.Set("devices", "cpu*4"); err != nil {
		log.Fatal(err)
	}
	strategy, err := mdist.NewStrategy(config)
	if err != nil {
		log.Fatal(err)
	}
	defer strategy.Close()

	sums := make([]float32, strategy.LocalReplicaCount())
	_, err = strategy.Run(func(replica *mdist.Replica) error { // on every replica, at the same time
		x := []float32{float32(replica.ID() + 1)}
		if err := mdist.AllReduce(replica, mdist.Sum, x); err != nil {
			return err
		}
		sums[replica.LocalIndex()] = x[0]
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for local, sum := range sums {
		id := strategy.FirstReplicaID() + local
		fmt.Printf("replica %d of %d: %g\n", id, strategy.ReplicaCount(), sum)
	}
}
