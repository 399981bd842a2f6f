//! Variants in a macro, of which the build takes one.
impl Meter {
    cfg_metrics_variant! {
        stable: {
            pub fn count(&self) -> u64 { 0 }
        },
        unstable: {
            #[inline]
            pub fn count(&self) -> u64 {
                match self.kind {
                    Kind::Fast => { 1 }
                    Kind::Slow => { 2 }
                }
            }
        }
    }

    pub(crate) fn submit(&mut self) {
        cfg_metrics_variant! {
            stable: {
                fn none() {}
            },
            unstable: {
                fn one() {}
            },
        }
    }
}
