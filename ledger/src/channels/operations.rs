//! Channel operations: open and close as a peer asks for them, with the policy called at the
//! points that matter (keeps C1, C2).

use super::error::{ChannelError, CloseError};
use super::manager::{ChannelId, ChannelManager};
use super::policy::ChannelLifecyclePolicy;

/// Who asks. Only the direct caller's identity decides anything.
#[derive(Clone, Copy, Debug)]
pub struct OperationContext<'c, I> {
    identity: &'c I,
    forwarded_for: Option<&'c I>,
}

impl<'c, I> OperationContext<'c, I> {
    /// A call made by `identity` itself.
    #[must_use]
    pub const fn direct(identity: &'c I) -> Self {
        OperationContext {
            identity,
            forwarded_for: None,
        }
    }

    /// A call that `identity` says it makes for another. The saying is metadata, for logs.
    #[must_use]
    pub const fn relayed(identity: &'c I, forwarded_for: &'c I) -> Self {
        OperationContext {
            identity,
            forwarded_for: Some(forwarded_for),
        }
    }

    /// The direct caller.
    #[must_use]
    pub const fn identity(&self) -> &'c I {
        self.identity
    }

    /// Whom the caller says it acts for. No authority.
    #[must_use]
    pub const fn forwarded_for(&self) -> Option<&'c I> {
        self.forwarded_for
    }
}

/// What access control decided about a call. It is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The caller may.
    Granted,
    /// The caller may not.
    Denied,
}

/// The channels of one connection, counted by a policy that other connections share.
///
/// A manager inside a channel of another is no way around a cap: give it the same policy.
/// When the connection ends, drop this: what is still held is given back.
#[derive(Debug)]
pub struct ChannelOperations<I, P, const CHANNELS: usize>
where
    P: ChannelLifecyclePolicy<I>,
{
    manager: ChannelManager<CHANNELS>,
    openers: [Option<I>; CHANNELS],
    policy: P,
}

impl<I, P, const CHANNELS: usize> ChannelOperations<I, P, CHANNELS>
where
    I: Copy + Eq,
    P: ChannelLifecyclePolicy<I>,
{
    /// A connection without channels, within `manager`'s bound and `policy`'s caps.
    #[must_use]
    pub const fn new(manager: ChannelManager<CHANNELS>, policy: P) -> Self {
        ChannelOperations {
            manager,
            openers: [const { None }; CHANNELS],
            policy,
        }
    }

    /// Opens a channel: access control first, then the caps, then the allocation.
    ///
    /// # Errors
    /// [`ChannelError`]; nothing is counted or allocated.
    pub fn open(
        &mut self,
        context: &OperationContext<'_, I>,
        access: Access,
    ) -> Result<ChannelId, ChannelError> {
        if access == Access::Denied {
            return Err(ChannelError::AccessDenied);
        }
        if !self.manager.can_open() {
            return Err(ChannelError::TooManyChannels);
        }
        self.policy.check_open(context.identity)?;
        let opened = self.manager.open();
        match opened
            .as_ref()
            .map(|channel| self.openers.get_mut(channel.to_wire() as usize))
        {
            Ok(Some(opener)) => *opener = Some(*context.identity),
            _ => {
                debug_assert!(false, "room was checked");
                self.policy.on_close(context.identity);
            }
        }
        opened
    }

    /// Stops a channel of the caller's. It still counts until its drain is over.
    ///
    /// # Errors
    /// [`CloseError`]; nothing is changed.
    pub fn close(
        &mut self,
        context: &OperationContext<'_, I>,
        channel: ChannelId,
    ) -> Result<(), CloseError> {
        let opener = self
            .openers
            .get(channel.to_wire() as usize)
            .copied()
            .flatten();
        match opener {
            None => Err(CloseError::UnknownChannel),
            Some(opener) if opener != *context.identity => Err(CloseError::NotTheOpener),
            Some(_) => self.manager.close(channel),
        }
    }

    /// Ends a channel whose bytes are all out: its id may be reused, its opener has one
    /// channel less.
    ///
    /// # Errors
    /// [`CloseError`]; nothing is changed.
    pub fn drained(&mut self, channel: ChannelId) -> Result<(), CloseError> {
        self.manager.drained(channel)?;
        let opener = self
            .openers
            .get_mut(channel.to_wire() as usize)
            .and_then(Option::take);
        if let Some(opener) = opener {
            self.policy.on_close(&opener);
        }
        Ok(())
    }

    /// The channels themselves.
    #[must_use]
    pub const fn manager(&self) -> &ChannelManager<CHANNELS> {
        &self.manager
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &P {
        &self.policy
    }
}

impl<I, P, const CHANNELS: usize> Drop for ChannelOperations<I, P, CHANNELS>
where
    P: ChannelLifecyclePolicy<I>,
{
    fn drop(&mut self) {
        for opener in self.openers.iter_mut().filter_map(Option::take) {
            self.policy.on_close(&opener);
        }
    }
}
