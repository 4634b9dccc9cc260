// SPDX-License-Identifier: Apache-2.0
//! Messages: one replica sends a buffer to another.
use mdist_sys as sys;

use crate::buffer::{Buffers, BuffersMut};
use crate::error::{call, Error, Result};
use crate::replica::Replica;
use crate::work::OwnedBuffers;
use crate::Work;

/// A message is one buffer.
fn only<'a>(operation: &str, raw: &'a [sys::mdist_buffer]) -> Result<&'a sys::mdist_buffer> {
    match raw {
        [one] => Ok(one),
        _ => {
            let sentence = format!("{} buffers; a message is one", raw.len());
            Err(Error::invalid(operation, sentence))
        }
    }
}

impl Replica<'_> {
    /// Sends a buffer to replica `to`. Both sides pass the same type and number of elements. A message of
    /// more than 4096 bytes waits for its receiver: if two replicas send to each other, start one side.
    pub fn send<B: Buffers + ?Sized>(&self, to: u32, tag: u64, buffer: &B) -> Result<()> {
        buffer.with(|raw| {
            let one = only("mdist_send", raw)?;
            // Safety: a borrow for as long as the call.
            call(|error| unsafe {
                sys::mdist_send(self.raw(), to, tag, one, self.options(), error)
            })
        })
    }

    /// Receives what replica `from` sends under a tag; equal ones in the order in which they were sent.
    pub fn receive<B: BuffersMut + ?Sized>(
        &self,
        from: u32,
        tag: u64,
        buffer: &mut B,
    ) -> Result<()> {
        buffer.with(|raw| {
            let one = only("mdist_receive", raw)?;
            // Safety: an exclusive borrow for as long as the call.
            call(|error| unsafe {
                sys::mdist_receive(self.raw(), from, tag, one, self.options(), error)
            })
        })
    }

    /// [`Replica::send`], started: `wait` gives the buffer back.
    pub fn send_start<B: OwnedBuffers>(
        &self,
        to: u32,
        tag: u64,
        mut buffer: B,
    ) -> Result<Work<'_, B>> {
        let mut described = Vec::new();
        buffer.describe(&mut described);
        only("mdist_send_start", &described)?;
        self.start_in_place(buffer, |raw, out, error| unsafe {
            // Safety: the work that comes out owns the buffer.
            sys::mdist_send_start(self.raw(), to, tag, &raw[0], out, self.options(), error)
        })
    }

    /// [`Replica::receive`], started.
    pub fn receive_start<B: OwnedBuffers>(
        &self,
        from: u32,
        tag: u64,
        mut buffer: B,
    ) -> Result<Work<'_, B>> {
        let mut described = Vec::new();
        buffer.describe(&mut described);
        only("mdist_receive_start", &described)?;
        self.start_in_place(buffer, |raw, out, error| unsafe {
            // Safety: as above.
            sys::mdist_receive_start(self.raw(), from, tag, &raw[0], out, self.options(), error)
        })
    }
}
