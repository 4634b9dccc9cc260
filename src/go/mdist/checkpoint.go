// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// Latest stands for the number of the checkpoint that was saved last.
const Latest uint64 = C.MDIST_LATEST

// Checkpoint saves variables and texts in files, and restores them, with any number of workers and replicas. The files
// are safetensors. Its methods are for outside of steps; all workers call them together.
type Checkpoint struct {
	handle    *C.mdist_checkpoint_t
	strategy  *Strategy
	iterators []*Iterator
}

// NewCheckpoint makes a checkpoint without variables and texts. The newest keep files stay in the folder; 0: all do.
func (s *Strategy) NewCheckpoint(folder string, keep int) (*Checkpoint, error) {
	number, err := index("keep", keep)
	if err != nil {
		return nil, err
	}
	text, err := cText("the folder", folder)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	checkpoint := &Checkpoint{strategy: s}
	var story *C.mdist_error_t
	err = check(C.mdist_checkpoint_create(s.handle, text, number, &checkpoint.handle, &story), &story)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(checkpoint, (*Checkpoint).Close)
	return checkpoint, nil
}

// Add adds a variable, which the checkpoint keeps, under a name in files; "": its own.
func (c *Checkpoint) Add(name string, v *Variable) error {
	var text *C.char
	if name != "" {
		var err error
		if text, err = cText("the name", name); err != nil {
			return err
		}
		defer freeText(text)
	}
	var story *C.mdist_error_t
	err := check(C.mdist_checkpoint_add(c.handle, text, v.handle, &story), &story)
	runtime.KeepAlive(c)
	runtime.KeepAlive(v)
	return err
}

// AddIterator adds an iterator, which the checkpoint keeps: its position is saved and restored. No other call may use it
// during a save or restore.
func (c *Checkpoint) AddIterator(name string, iterator *Iterator) error {
	text, err := cText("the name", name)
	if err != nil {
		return err
	}
	defer freeText(text)
	var story *C.mdist_error_t
	err = check(C.mdist_checkpoint_add_iterator(c.handle, text, iterator.handle, &story), &story)
	runtime.KeepAlive(iterator)
	if err == nil {
		c.iterators = append(c.iterators, iterator)
	}
	return err
}

// SetText sets a text that is saved along; the chief's is.
func (c *Checkpoint) SetText(key, text string) error {
	keyText, err := cText("the key", key)
	if err != nil {
		return err
	}
	defer freeText(keyText)
	value, err := cText("the text of "+key, text)
	if err != nil {
		return err
	}
	defer freeText(value)
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_checkpoint_set_text(c.handle, keyText, value, &story), &story)
}

// Text returns a text that was set or restored; ErrNotFound if there is none.
func (c *Checkpoint) Text(key string) (string, error) {
	keyText, err := cText("the key", key)
	if err != nil {
		return "", err
	}
	defer freeText(keyText)
	defer runtime.KeepAlive(c)
	return text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
		var story *C.mdist_error_t
		return check(C.mdist_checkpoint_text(c.handle, keyText, at, capacity, needed, &story), &story)
	})
}

// Keys returns the keys of all texts, in their order.
func (c *Checkpoint) Keys() ([]string, error) {
	defer runtime.KeepAlive(c)
	keys := make([]string, C.mdist_checkpoint_text_count(c.handle))
	for i := range keys {
		key, err := text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
			var story *C.mdist_error_t
			return check(C.mdist_checkpoint_text_key(c.handle, C.size_t(i), at, capacity, needed, &story), &story)
		})
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// Save saves under a number, of a step or epoch, say. It is on the disk when this returns.
func (c *Checkpoint) Save(number uint64) error {
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_checkpoint_save(c.handle, C.uint64_t(number), nil, &story), &story)
}

// Restore gives variables and texts what was saved under a number, or Latest, and returns the number. ErrNotFound:
// there is none. File and variables must have the same names; see RestorePartial.
func (c *Checkpoint) Restore(number uint64) (uint64, error) { return c.restore(number, 0) }

// RestorePartial is Restore, but variables that the file lacks stay as they are, and what else is in it is passed over.
func (c *Checkpoint) RestorePartial(number uint64) (uint64, error) { return c.restore(number, 1) }

func (c *Checkpoint) restore(number uint64, partial C.int32_t) (uint64, error) {
	defer runtime.KeepAlive(c)
	var restored C.uint64_t
	var story *C.mdist_error_t
	err := check(C.mdistgo_checkpoint_restore(c.handle, C.uint64_t(number), partial, &restored, &story), &story)
	var causes failures
	for _, iterator := range c.iterators { // whose map functions may have been called
		causes.lookIn(iterator.failures)
	}
	return uint64(restored), causes.explain(err)
}

// Clear removes all checkpoints from the folder: the training is done, and the next one is to begin anew. All workers call
// it.
func (c *Checkpoint) Clear() error {
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_checkpoint_clear(c.handle, nil, &story), &story)
}

// Close frees the checkpoint and lets go of its variables; files stay.
func (c *Checkpoint) Close() {
	runtime.SetFinalizer(c, nil)
	C.mdist_checkpoint_destroy(c.handle)
}

// LatestCheckpoint returns the number of the checkpoint in a folder that was saved last; ErrNotFound if there is none.
func LatestCheckpoint(folder string) (uint64, error) {
	text, err := cText("the folder", folder)
	if err != nil {
		return 0, err
	}
	defer freeText(text)
	var number C.uint64_t
	var story *C.mdist_error_t
	err = check(C.mdist_checkpoint_latest(text, &number, &story), &story)
	return uint64(number), err
}
