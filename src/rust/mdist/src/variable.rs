// SPDX-License-Identifier: Apache-2.0
//! Variables: state with one copy per replica.
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mdist_sys as sys;

use crate::config::c_string;
use crate::copies::{CopyMut, CopyRef, Lock, Locked};
use crate::element::Element;
use crate::error::{call, make, text, Error, Result, Status};
use crate::options::options;
use crate::replica::Replica;
use crate::tensor::{self, raw_tensor, Tensor};
use crate::{Dtype, Strategy, Value};

/// When copies become equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronization {
    /// Always: a mirrored variable.
    OnWrite,
    /// When it is read outside of steps; until then they differ.
    OnRead,
}

/// How what the replicas write, or hold, becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aggregation {
    /// Written in a step: own copy only.
    None,
    Sum,
    Mean,
    OnlyFirstReplica,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assign {
    Set,
    Add,
    Sub,
    /// This and what follows are for rows only.
    Mul,
    Div,
    Min,
    Max,
}

options! {
    /// What kind of variable; by default mirrored, without aggregation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct VariableOptions {
        /// When its copies become equal.
        synchronization: Synchronization = Synchronization::OnWrite,
        /// How what the replicas write, or hold, becomes one.
        aggregation: Aggregation = Aggregation::None,
    }
}

impl VariableOptions {
    fn raw(self) -> sys::mdist_variable_options {
        sys::mdist_variable_options {
            struct_size: mem::size_of::<sys::mdist_variable_options>() as u32,
            synchronization: match self.synchronization {
                Synchronization::OnWrite => sys::MDIST_SYNC_ON_WRITE,
                Synchronization::OnRead => sys::MDIST_SYNC_ON_READ,
            },
            aggregation: self.aggregation.raw(),
            reserved: 0,
            colocate_with: std::ptr::null(),
        }
    }
}

impl Aggregation {
    pub(crate) fn raw(self) -> sys::mdist_aggregation {
        match self {
            Aggregation::None => sys::MDIST_AGGREGATION_NONE,
            Aggregation::Sum => sys::MDIST_AGGREGATION_SUM,
            Aggregation::Mean => sys::MDIST_AGGREGATION_MEAN,
            Aggregation::OnlyFirstReplica => sys::MDIST_AGGREGATION_ONLY_FIRST_REPLICA,
        }
    }
}

impl Assign {
    pub(crate) fn raw(self) -> sys::mdist_assign {
        match self {
            Assign::Set => sys::MDIST_ASSIGN_SET,
            Assign::Add => sys::MDIST_ASSIGN_ADD,
            Assign::Sub => sys::MDIST_ASSIGN_SUB,
            Assign::Mul => sys::MDIST_ASSIGN_MUL,
            Assign::Div => sys::MDIST_ASSIGN_DIV,
            Assign::Min => sys::MDIST_ASSIGN_MIN,
            Assign::Max => sys::MDIST_ASSIGN_MAX,
        }
    }
}

/// State with one copy per replica. Clones are the same variable.
///
/// [`copy`](Variable::copy) and [`copy_mut`](Variable::copy_mut) give a copy's memory as a slice,
/// in steps and outside. What does not go together (two writers of one copy; an assignment or
/// update while somebody holds a copy) is [`Status::FailedPrecondition`], reason "borrowed".
#[derive(Clone)]
pub struct Variable(Arc<Handle>);

pub(crate) struct Handle {
    raw: NonNull<sys::mdist_variable>,
    locks: Arc<[Lock]>,
}

// Safety: functions of variables are for any thread, one at a time per strategy, which the library
// checks; the copies' memory is guarded by locks.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

/// Whose a variable is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Of {
    strategy: usize, // its handle
    /// Of the job: in an elastic job a worker may come to have all.
    replica_count: u32,
}

impl Of {
    fn raw(self) -> *mut sys::mdist_strategy {
        self.strategy as *mut sys::mdist_strategy
    }
}

impl Strategy {
    pub(crate) fn of(&self) -> Of {
        Of {
            strategy: self.raw() as usize,
            replica_count: self.replica_count(),
        }
    }
}

struct Known {
    of: Of,
    address: usize, // of copy 0
    locks: Weak<[Lock]>,
}

/// Several handles of one variable must share what guards the copies.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The locks of all variables of a strategy.
pub(crate) fn all_locks(of: Of) -> Vec<Arc<[Lock]>> {
    let mine = |one: &Known| {
        if one.of == of {
            one.locks.upgrade()
        } else {
            None
        }
    };
    known().iter().filter_map(mine).collect()
}

fn locks_of(raw: NonNull<sys::mdist_variable>, of: Of) -> Arc<[Lock]> {
    let made = || -> Arc<[Lock]> { (0..of.replica_count).map(|_| Lock::default()).collect() };
    let mut copy = tensor::no_tensor();
    // Safety: our handle.
    let described =
        call(|error| unsafe { sys::mdist_variable_tensor(raw.as_ptr(), 0, &mut copy, error) });
    if described.is_err() || tensor::elements_of(&copy) == 0 {
        return made(); // nothing to guard
    }
    let address = copy.data as usize;
    let mut known = known();
    known.retain(|one| one.locks.strong_count() != 0);
    let same = known.iter().find(|one| one.address == address);
    if let Some(locks) = same.and_then(|one| one.locks.upgrade()) {
        return locks;
    }
    let locks = made();
    known.push(Known {
        of,
        address,
        locks: Arc::downgrade(&locks),
    });
    locks
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Safety: ours. Whoever holds a copy holds the variable, so nobody does.
        unsafe { sys::mdist_variable_destroy(self.raw.as_ptr()) }
    }
}

impl Strategy {
    /// Creates a variable with a copy of `initial` on every replica. The name is unique in this
    /// strategy.
    pub fn variable<'a>(
        &self,
        name: &str,
        initial: impl Into<Tensor<'a>>,
        options: VariableOptions,
    ) -> Result<Variable> {
        self.create_variable(name, initial.into().raw(), options)
    }

    /// The same, of zeros.
    pub fn zeros(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        options: VariableOptions,
    ) -> Result<Variable> {
        if shape.len() > sys::MDIST_MAX_RANK as usize {
            let sentence = format!("{shape:?} has {} dimensions; 8 are the most", shape.len());
            return Err(Error::invalid("mdist_variable_create", sentence));
        }
        self.create_variable(
            name,
            &raw_tensor::<u8>(dtype, ptr::null_mut(), shape),
            options,
        )
    }

    fn create_variable(
        &self,
        name: &str,
        initial: &sys::mdist_tensor,
        options: VariableOptions,
    ) -> Result<Variable> {
        let (name, options) = (c_string(name, "mdist_variable_create")?, options.raw());
        // Safety: a tensor that is readable, or without data.
        let raw = make(|out, error| unsafe {
            sys::mdist_variable_create(self.raw(), name.as_ptr(), initial, out, &options, error)
        })?;
        Ok(Variable::own(raw, self.of()))
    }
}

impl Strategy {
    /// Finds a variable by its name, whoever made it; also in a step.
    pub fn find_variable(&self, name: &str) -> Result<Variable> {
        let name = c_string(name, "mdist_variable_named")?;
        // Safety: our handle.
        let raw = make(|out, error| unsafe {
            sys::mdist_variable_named(self.raw(), name.as_ptr(), out, error)
        })?;
        Ok(Variable::own(raw, self.of()))
    }
}

impl Replica<'_> {
    /// Finds a variable by its name, whoever made it.
    pub fn find_variable(&self, name: &str) -> Result<Variable> {
        let (name, of) = (c_string(name, "mdist_variable_named")?, self.shared().of);
        // Safety: the step's own strategy, as long as the step.
        let raw = make(|out, error| unsafe {
            sys::mdist_variable_named(of.raw(), name.as_ptr(), out, error)
        })?;
        Ok(Variable::own(raw, of))
    }
}

impl Variable {
    fn own(raw: *mut sys::mdist_variable, of: Of) -> Variable {
        let raw = NonNull::new(raw).expect("a call that succeeds gives a variable");
        let locks = locks_of(raw, of);
        Variable(Arc::new(Handle { raw, locks }))
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_variable {
        self.0.raw.as_ptr()
    }

    pub fn name(&self) -> String {
        // Safety: our handle; static as long as it lives.
        unsafe { text(sys::mdist_variable_name(self.raw())) }
    }

    /// The copy of a local replica, to read.
    pub fn copy<T: Element>(&self, local_replica: u32) -> Result<CopyRef<'_, T>> {
        let locked = self.lock("read", local_replica, Lock::try_read)?;
        let (data, len) = self.memory::<T>(local_replica)?;
        // Safety: the right to read this copy; its address changes only in regroup, which needs all
        // locks, and the borrow of self keeps it alive.
        Ok(unsafe { CopyRef::new(data, len, locked) })
    }

    /// The copy of a local replica, to read and write. Keeping mirrored copies equal is up to you.
    pub fn copy_mut<T: Element>(&self, local_replica: u32) -> Result<CopyMut<'_, T>> {
        let locked = self.lock("written", local_replica, Lock::try_write)?;
        let (data, len) = self.memory::<T>(local_replica)?;
        // Safety: the right to write this copy; its address changes only in regroup, which needs all
        // locks, and the borrow of self keeps it alive.
        Ok(unsafe { CopyMut::new(data, len, locked) })
    }

    /// Writes from outside of steps: a plain or mirrored value to every copy, a per-replica value
    /// each to its own.
    pub fn assign(&self, assign: Assign, value: &Value) -> Result<()> {
        let _locked = self.lock_all("assigned", Lock::try_write)?;
        // Safety: handles of ours; no copy is held by anybody.
        call(|error| unsafe {
            sys::mdist_variable_assign(self.raw(), assign.raw(), value.raw(), error)
        })
    }

    /// Reads from outside of steps, as a plain value: copy 0, or copies aggregated if they are
    /// synchronized on read.
    pub fn read(&self) -> Result<Value> {
        let _locked = self.lock_all("read", Lock::try_read)?;
        // Safety: our handle; no copy is written by anybody.
        make(|out, error| unsafe { sys::mdist_variable_read(self.raw(), out, ptr::null(), error) })
            .map(Value::own)
    }

    pub(crate) fn lock_all<'v>(
        &'v self,
        what: &str,
        lock: fn(&'v Lock) -> Option<Locked<'v>>,
    ) -> Result<Vec<Locked<'v>>> {
        (0..self.0.locks.len() as u32)
            .map(|local_replica| self.lock(what, local_replica, lock))
            .collect()
    }

    pub(crate) fn lock<'v>(
        &'v self,
        what: &str,
        local_replica: u32,
        lock: impl Fn(&'v Lock) -> Option<Locked<'v>>,
    ) -> Result<Locked<'v>> {
        if local_replica as usize >= self.0.locks.len() {
            self.describe(local_replica)?; // says that there is none
        }
        self.0.locks.get(local_replica as usize).and_then(lock).ok_or_else(|| {
            let sentence = format!(
                "copy {local_replica} of variable \"{}\" cannot be {what} while somebody holds it; drop that first",
                self.name()
            );
            Error::new(Status::FailedPrecondition, "borrowed", "mdist_variable_tensor", sentence)
        })
    }

    pub(crate) fn describe(&self, local_replica: u32) -> Result<sys::mdist_tensor> {
        let mut raw = tensor::no_tensor();
        // Safety: our handle.
        call(|error| unsafe {
            sys::mdist_variable_tensor(self.raw(), local_replica, &mut raw, error)
        })?;
        Ok(raw)
    }

    fn memory<T: Element>(&self, local_replica: u32) -> Result<(NonNull<T>, usize)> {
        let raw = self.describe(local_replica)?;
        let data = tensor::checked_data::<T>(&raw)?;
        Ok((
            NonNull::new(data).expect("memory has an address"),
            tensor::elements_of(&raw),
        ))
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Variable({:?})", self.name())
    }
}

impl Replica<'_> {
    /// This replica's copy, to read.
    pub fn copy<'v, T: Element>(&self, variable: &'v Variable) -> Result<CopyRef<'v, T>> {
        variable.copy(self.local_index())
    }

    /// This replica's copy, to read and write. Keeping mirrored copies equal is up to you.
    pub fn copy_mut<'v, T: Element>(&self, variable: &'v Variable) -> Result<CopyMut<'v, T>> {
        variable.copy_mut(self.local_index())
    }

    /// Creates a variable from inside the step: the same call on every replica, and every one gets
    /// the same variable. Replica 0's `initial` is everybody's.
    pub fn variable<'a>(
        &self,
        name: &str,
        initial: impl Into<Tensor<'a>>,
        options: VariableOptions,
    ) -> Result<Variable> {
        let (name, options) = (
            c_string(name, "mdist_replica_variable_create")?,
            options.raw(),
        );
        let initial = initial.into();
        // Safety: a readable tensor.
        let raw = make(|out, error| unsafe {
            sys::mdist_replica_variable_create(
                self.raw(),
                name.as_ptr(),
                initial.raw(),
                out,
                &options,
                error,
            )
        })?;
        // Each replica has a handle of its own, but they must share what guards the copies: the
        // wrapper of whoever comes first serves all.
        let shared = self.shared();
        let variable = Variable::own(raw, shared.of);
        let mut known = shared
            .variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(|other| other.name() == variable.name()) {
            return Ok(same.clone());
        }
        known.push(variable.clone());
        Ok(variable)
    }

    /// Writes row i of `values` into row `indices[i]` from inside the step: the rows of all
    /// replicas by the variable's aggregation, which needs every replica to call.
    pub fn assign_sparse<'a>(
        &self,
        variable: &Variable,
        assign: Assign,
        indices: &[i64],
        values: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let (indices, values) = (Tensor::from(indices), values.into());
        let _locked = variable.lock("assigned", self.local_index(), Lock::try_write)?;
        // Safety: every replica writes its own copy, and nobody else holds it.
        call(|error| unsafe {
            sys::mdist_replica_assign_sparse(
                self.raw(),
                variable.raw(),
                assign.raw(),
                indices.raw(),
                values.raw(),
                ptr::null(),
                error,
            )
        })
    }

    /// Writes from inside the step. A mirrored variable with an aggregation needs every replica to
    /// call: what they write is reduced, and applied once to every copy. Else only this
    /// replica's copy is written.
    pub fn assign<'a>(
        &self,
        variable: &Variable,
        assign: Assign,
        tensor: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensor = tensor.into();
        let _locked = variable.lock("assigned", self.local_index(), Lock::try_write)?;
        // Safety: every replica writes its own copy, and nobody else holds it.
        call(|error| unsafe {
            sys::mdist_replica_assign(
                self.raw(),
                variable.raw(),
                assign.raw(),
                tensor.raw(),
                ptr::null(),
                error,
            )
        })
    }
}
