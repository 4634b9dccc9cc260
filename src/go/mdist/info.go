// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

// Version is that of the library that is running: 10000 * major + 100 * minor + patch.
func Version() int { return int(C.mdist_version()) }

// Has says whether this build and this host can do something: "cuda", "avx2" ...
func Has(feature string) bool {
	text, err := cText("the feature", feature)
	if err != nil {
		return false
	}
	defer freeText(text)
	return C.mdist_has(text) != 0
}
