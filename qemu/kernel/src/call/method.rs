//! Methods by name. Their numbers are the published schema's.

/// Makes `Method`, an interface's methods with their numbers. A number that is
/// not here is a method that this kernel does not have.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $number:literal),* $(,)?) => {
        /// The interface's methods, as far as this kernel has them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Method {
            $($(#[$doc])* $name),*
        }

        impl Method {
            /// The method that has `number` in the schema.
            #[must_use]
            pub const fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use methods;
