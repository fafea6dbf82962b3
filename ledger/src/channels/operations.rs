//! Channel operations: open and close as a peer asks for them, with the policy called at the
//! points that matter (keeps C1, C2).

use super::error::{ChannelError, CloseError};
use super::identity::Identity;
use super::manager::{ChannelId, ChannelManager};
use super::policy::{ChannelLifecyclePolicy, PerIdentityChannelPolicy};

/// Who asks. Only the direct caller's identity decides anything.
#[derive(Clone, Copy, Debug)]
pub struct OperationContext<'c> {
    identity: &'c Identity,
    forwarded_for: Option<&'c Identity>,
}

impl<'c> OperationContext<'c> {
    /// A call made by `identity` itself.
    #[must_use]
    pub const fn direct(identity: &'c Identity) -> Self {
        OperationContext {
            identity,
            forwarded_for: None,
        }
    }

    /// A call that `identity` says it makes for another. The saying is metadata, for logs.
    #[must_use]
    pub const fn relayed(identity: &'c Identity, forwarded_for: &'c Identity) -> Self {
        OperationContext {
            identity,
            forwarded_for: Some(forwarded_for),
        }
    }

    /// The direct caller.
    #[must_use]
    pub const fn identity(&self) -> &'c Identity {
        self.identity
    }

    /// Whom the caller says it acts for. No authority.
    #[must_use]
    pub const fn forwarded_for(&self) -> Option<&'c Identity> {
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
pub struct ChannelOperations<
    const CHANNELS: usize = 256,
    P: ChannelLifecyclePolicy = PerIdentityChannelPolicy<CHANNELS>,
> {
    manager: ChannelManager<CHANNELS>,
    openers: [Option<Identity>; CHANNELS],
    policy: P,
}

impl<const CHANNELS: usize> ChannelOperations<CHANNELS> {
    /// A connection without channels, within `manager`'s bound and, for each identity on it, a
    /// cap of [`CHANNELS_PER_IDENTITY`](super::CHANNELS_PER_IDENTITY): whoever gives no thought
    /// to a policy has one. Its table cannot fill before the connection does.
    ///
    /// The cap is this connection's alone. A service that accepts several shares one policy
    /// among them, by [`ChannelOperations::with_policy`].
    #[must_use]
    pub fn new(manager: ChannelManager<CHANNELS>) -> Self {
        ChannelOperations::with_policy(manager, PerIdentityChannelPolicy::default())
    }
}

impl<const CHANNELS: usize, P: ChannelLifecyclePolicy> ChannelOperations<CHANNELS, P> {
    /// A connection without channels, within `manager`'s bound and `policy`'s caps.
    #[must_use]
    pub const fn with_policy(manager: ChannelManager<CHANNELS>, policy: P) -> Self {
        ChannelOperations {
            manager,
            openers: [const { None }; CHANNELS],
            policy,
        }
    }

    /// Opens a channel: access control first, then the caps, then the allocation. Where that
    /// fails, at the connection's bound, what the policy counted is given back to it.
    ///
    /// # Errors
    /// [`ChannelError`]; nothing is counted or allocated.
    pub fn open(
        &mut self,
        context: &OperationContext<'_>,
        access: Access,
    ) -> Result<ChannelId, ChannelError> {
        if access == Access::Denied {
            return Err(ChannelError::AccessDenied);
        }
        self.policy.check_open(context.identity)?;
        let allocated = self.allocate(context.identity);
        if allocated.is_err() {
            self.policy.on_close(context.identity);
        }
        allocated
    }

    fn allocate(&mut self, opener: &Identity) -> Result<ChannelId, ChannelError> {
        let channel = self.manager.open()?;
        let Some(place) = self.openers.get_mut(channel.to_wire() as usize) else {
            debug_assert!(false, "an opener has as many places as the manager");
            return Err(ChannelError::TooManyChannels);
        };
        *place = Some(*opener);
        Ok(channel)
    }

    /// Stops a channel of the caller's. It still counts until its drain is over.
    ///
    /// # Errors
    /// [`CloseError`]; nothing is changed.
    pub fn close(
        &mut self,
        context: &OperationContext<'_>,
        channel: ChannelId,
    ) -> Result<(), CloseError> {
        let place = self.openers.get(channel.to_wire() as usize);
        match place.and_then(Option::as_ref) {
            None => Err(CloseError::UnknownChannel),
            Some(opener) if opener != context.identity => Err(CloseError::NotTheOpener),
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

impl<const CHANNELS: usize, P: ChannelLifecyclePolicy> Drop for ChannelOperations<CHANNELS, P> {
    fn drop(&mut self) {
        for opener in self.openers.iter_mut().filter_map(Option::take) {
            self.policy.on_close(&opener);
        }
    }
}
