// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "fmt"

// Version is that of the library that is running: 10000 * major + 100 * minor + patch.
func Version() int { return int(C.mdist_version()) }

// checkVersion fails if the library that the loader found does not fit the headers that this package was compiled with.
func checkVersion() error { return compareVersions(C.MDIST_VERSION, Version()) }

// compareVersions: libraries of one 0.N fit, from the version of the headers on.
func compareVersions(compiled, found int) error {
	if found/100 == compiled/100 && found >= compiled {
		return nil
	}
	text := func(version int) string {
		return fmt.Sprintf("%d.%d.%d", version/10000, version/100%100, version%100)
	}
	return &Error{
		Status:    ErrFailedPrecondition,
		Reason:    "different_version",
		Operation: "mdist_version",
		Replica:   -1,
		Rank:      -1,
		message: fmt.Sprintf("the loader found libmdist %s, but this program needs %s or a later %d.%d; install that, "+
			"and look at LD_LIBRARY_PATH", text(found), text(compiled), compiled/10000, compiled/100%100),
	}
}
