// SPDX-License-Identifier: Apache-2.0

// Overhead measures the cost of an empty step in two ways. With "callback", threads of the library call a Go closure.
// With "entered", goroutines enter and leave the run. Each figure is the best of five blocks.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"example.org/libmdist/src/go/mdist"
)

const blocks = 5

func main() {
	replicas := flag.Int("replicas", 2, "replicas on this machine's CPU, from 1 to 256")
	runs := flag.Int("runs", 2000, "runs in a block, from 1")
	flag.Parse()
	if err := measure(*replicas, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func measure(replicas, runs int) error {
	if replicas < 1 || replicas > 256 || runs < 1 || flag.NArg() > 0 {
		return fmt.Errorf("%d replicas, %d runs, %d words that are no options; there must be from 1 to 256 replicas, "+
			"at least 1 run, and no such words", replicas, runs, flag.NArg())
	}
	config, err := mdist.NewConfig()
	if err != nil {
		return err
	}
	if err := config.Set("devices", fmt.Sprintf("cpu*%d", replicas)); err != nil {
		return err
	}
	strategy, err := mdist.NewStrategy(config)
	if err != nil {
		return err
	}
	defer strategy.Close()
	empty := func(*mdist.Replica) error { return nil }
	if err := report("callback", replicas, runs, func() error { _, err := strategy.Run(empty); return err }); err != nil {
		return err
	}
	team := newTeam(replicas)
	defer team.close()
	return report("entered", replicas, runs, func() error { return team.run(strategy) })
}

func report(way string, replicas, runs int, run func() error) error {
	best := time.Duration(1<<63 - 1)
	for block := 0; block < blocks; block++ {
		start := time.Now()
		for i := 0; i < runs; i++ {
			if err := run(); err != nil {
				return err
			}
		}
		if took := time.Since(start); took < best {
			best = took
		}
	}
	fmt.Printf("go %s replicas=%d ns_per_run=%d\n", way, replicas, best.Nanoseconds()/int64(runs))
	return nil
}
