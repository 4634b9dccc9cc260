// SPDX-License-Identifier: Apache-2.0

package mdist

// Steps is RunGoroutines from Begin on.
func (r *OpenRun) Steps(step Step) ([]*Value, error) { return r.steps(step) }

// Message is what the library says alone, and says to other workers.
func Message(err *Error) string { return err.message }

// CompareVersions is what NewStrategy and NewConfig ask first.
var CompareVersions = compareVersions
