// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
)

// options holds the checked command line.
type options struct {
	replicas   int
	epochs     int
	batch      int // rows for all replicas together
	limitSteps int // 0: no limit
	data       string
}

func parseOptions() (o options, err error) {
	flag.IntVar(&o.replicas, "replicas", 2, "replicas on this machine's CPU, 1 to 256")
	flag.IntVar(&o.epochs, "epochs", 10, "times over the training images, 1 to 10000")
	flag.IntVar(&o.batch, "batch", 128, "images per step, over all replicas, 1 to 1000000")
	flag.IntVar(&o.limitSteps, "limit-steps", 0, "stop training after this number of steps; 0: no limit")
	flag.StringVar(&o.data, "data", dataFolder, "folder of the four IDX files")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("%s: options start with --; --help lists them", flag.Arg(0))
	}
	for _, check := range []struct {
		name              string
		value, low, limit int
	}{
		{"replicas", o.replicas, 1, 256}, {"epochs", o.epochs, 1, 10000}, {"batch", o.batch, 1, 1000000},
		{"limit-steps", o.limitSteps, 0, 1000000000},
	} {
		if check.value < check.low || check.value > check.limit {
			return o, fmt.Errorf("--%s %d: must be a whole number from %d to %d", check.name, check.value, check.low,
				check.limit)
		}
	}
	return o, nil
}
