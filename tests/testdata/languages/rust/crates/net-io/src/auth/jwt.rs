//! Tokens of the network crate.
use std::collections::{self, hash_map::{Entry as Slot, HashMap}, btree_map::*};
use std::fmt;
pub use self::claims::Claims as TokenClaims;
pub(crate) use super::{
    keys::Key,
    *,
};
use ::serde;
use std::io::Write as _;
extern crate alloc as core_alloc;

mod claims;
/// Checks that need no key.
pub mod checks {
    //! Not shown: the comment above wins.
    pub fn is_expired() -> bool { false }
}

mod quiet {
    //! Says nothing.
    //! Second line.
    pub(self) static LEVEL: u8 = 1;
}

/// How long a token lives, in seconds.
pub const LIFETIME: u64 = 3600;
static mut COUNT: usize = 0;
const _: () = {
    impl Drop for Guard { fn drop(&mut self) {} }
};

/// A signed token.
///
/// # Examples
#[derive(Debug, Clone)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize),
)]
pub struct Token<'a, K: Key = Hmac>
where
    K: 'a,
{
    /// The raw text.
    pub raw: &'a str,
    #[allow(dead_code)]
    pub(super) key: K,
    r#type: Option<u8>,
}

struct Pair(pub u8, String);
pub struct Guard;
#[repr(C)]
pub union Word { pub bytes: [u8; 4], bits: u32 }

/** What can go wrong. */
pub(crate) enum Failure {
    /// Too old.
    Expired,
    Malformed(String), // trailing, about Malformed
    Refused { code: u16 } = 7,
}

pub trait Verify: Send {
    const STRICT: bool = true;
    type Error: fmt::Debug;
    /// Verifies.
    fn verify(&self, text: &str) -> Result<(), Self::Error>;
    fn verify_all(&self) where Self: Sized { self.verify("") }
}

impl<'a, K: Key> Token<'a, K> {
    pub const EMPTY: &'static str = "";

    /// Parses a token.
    #[must_use]
    #[inline]
    pub fn parse(
        raw: &'a str,
        key: K,
    ) -> Option<Self> {
        const LOCAL: u8 = 1;
        use std::str::FromStr;
        fn split(text: &str) -> Vec<&str> { text.split('.').collect() }
        let later = || {
            struct Hidden { depth: u8 }
            enum State { Open }
            run(async { fn in_async() {} });
        };
        None
    }

    async unsafe fn refresh(&mut self) {}
    pub(crate) extern "C" fn callback() {}
}

impl<'a, K> Verify for &'a mut fmt::Wrapper<Token<'a, K>>
where
    K: Key,
{
    type Error = Failure;
    fn verify(&self, _: &str) -> Result<(), Failure> { Ok(()) }
}
unsafe impl Send for dyn Verify {}
impl Verify for [u8] {}

type Result<T, E = Failure> = std::result::Result<T, E>;

#[macro_export]
/// Makes a token.
macro_rules! token {
    ($raw:expr) => { fn not_a_symbol() {} };
}
macro_rules! private_macro { () => {} }

extern "C" {
    pub fn getpid() -> i32;
    static environ: *const u8;
}

cfg_net! {
    /// Only with the network.
    pub struct Socket {
        fd: i32,
    }

    impl Socket {
        pub fn open() -> Socket { Socket { fd: 0 } }
    }
}

pin_project! { struct Waiting { #[pin] inner: u8 } }

lazy_static! {
    static ref CACHE: Mutex<u8> = Mutex::new(1);
}

cfg_if! {
    if #[cfg(unix)] {
        pub fn platform() -> &'static str { "unix" }
    } else {
        pub fn platform() -> &'static str { "other" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        let value = = 1;
    }

    fn after_the_error() {}
}
