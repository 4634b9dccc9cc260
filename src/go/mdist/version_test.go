// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestVersionsOfOneMinorFitFromTheCompiledOneOn(t *testing.T) {
	for _, fits := range []int{302, 303, 399} {
		if err := mdist.CompareVersions(302, fits); err != nil {
			t.Error(err)
		}
	}
	for _, other := range []int{0, 202, 301, 402, 10302} {
		err := mdist.CompareVersions(302, other)
		if !errors.Is(err, mdist.ErrFailedPrecondition) {
			t.Errorf("%d: %v", other, err)
		}
	}
	text := mdist.CompareVersions(302, 70809).Error()
	if !strings.HasPrefix(text, "the loader found libmdist 7.8.9, but this program needs 0.3.2 or a later 0.3; ") {
		t.Error(text)
	}
}
