//! Where modules come from: files, attributes, blocks. Paths within a block are seen from there.

mod plain;

#[cfg(unix)]
#[path = "unix/mod.rs"]
mod imp;

/// Helpers of the tests in files of their own.
mod support {
    pub mod panics;

    #[path = "signals_unix.rs"]
    pub mod signals;

    pub mod deep {
        use super::super::plain::Value;
        use crate::imp;

        pub fn value() -> Value {
            imp::value()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use self::support::{panics, signals::Signal as Raised};

    fn helper() -> Raised {
        panics::raised()
    }
}
