// SPDX-License-Identifier: Apache-2.0
//! What traits forbid; see types.rs.
#![allow(dead_code)]

// E0277
mod an_element_type_of_ones_own {
    #[derive(Clone, Copy, Default)]
    struct Own(f32);
    impl mdist::Element for Own {}
}
