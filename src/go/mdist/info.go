// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

// Has says whether this build and this host can do something: "cuda", "avx2" ...
func Has(feature string) bool {
	text, err := cText("the feature", feature)
	if err != nil {
		return false
	}
	defer freeText(text)
	return C.mdist_has(text) != 0
}
