// SPDX-License-Identifier: Apache-2.0
//! Options: structs that later versions may add to, since only their own methods set them.

/// Defines a struct with a default for each field and a method that sets it:
/// `InputOptions::default().split(false)`.
macro_rules! options {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$about])*
        #[must_use]
        pub struct $name { $($field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            $($(#[$doc])*
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = $field;
                self
            })*
        }
    };
}
pub(crate) use options;
