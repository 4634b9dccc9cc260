// SPDX-License-Identifier: Apache-2.0

/*
Package mdist is mirrored training with libmdist: one copy of the model per device, kept equal, and a step that runs
on all of them at the same time.

A [Strategy] owns this process's devices; on each stands a [Replica]. [Strategy.Run] calls your step once per replica
on threads of the library, [Strategy.RunGoroutines] on goroutines, and [Strategy.Begin] leaves it to you where. In a
step, replicas work together ([AllReduce] and its kin); outside of steps the strategy's methods reduce, gather and
copy values. A [Variable] has one copy per replica, a [Dataset] gives batches that are cut over the replicas.

# Errors

Whatever the library refuses is an [*Error] with the library's own sentence. Compare its status with [errors.Is]:

	if errors.Is(err, mdist.ErrMismatch) { ... }

A step that returns an error or panics fails the run and releases all other replicas. The run returns the first
cause: errors.Is and errors.As find the step's own error in it, or a [*PanicError] with value and stack. The strategy
can be used again. A step on library threads, a merge, an update or a map function must not call runtime.Goexit
(so not t.FailNow either): there are frames of the library below it. In steps on goroutines that is one more error.

Programs load libmdist when they start. [NewConfig] and [NewStrategy] fail, reason "different_version", if it is another
0.N than the one whose headers the package was compiled with, or an older one.

# Memory

Slices may be given to any call that ends before it returns: the library has forgotten them by then, and nothing of
Go's is ever stored in memory of C. What outlives a call lies in memory of the library: variables, values, arrays of
datasets, and what [Alloc] gives. Buffers of a started collective must come from there.

[Copy] and what is named after it copies elements. [UnsafeSlice] gives the library's memory itself, which is there until
Close or Free of the object it belongs to; nothing checks that. Every object has a Close or Free, and a finalizer that
does the same when it is forgotten, unless there has been such a slice; all but a [Variable], which has no finalizer: its strategy holds it until it is closed, or until neither of the two is used any
more. The garbage collector does not see how much memory is behind an object, so close values as soon as you are done
with them. Close returns nothing, for there is nothing that could fail: it neither waits for others nor writes. (What can
fail has a method of its own, such as [RecordWriter.Commit].)

# Goroutines and threads

A strategy and an iterator take one call at a time; everything else may be called from any goroutine. A replica of
Run belongs to the goroutine on which its step was called. A replica of RunGoroutines or Begin is bound to no thread:
its goroutine may move between threads, and may hand the replica to another goroutine, one at a time. So nothing here
needs runtime.LockOSThread; call it in the step if your own libraries do.
*/
package mdist
