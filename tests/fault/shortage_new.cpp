// SPDX-License-Identifier: Apache-2.0
// Refuses what C++ allocates whenever shortage_refuses_memory() says so. For builds where a sanitizer owns malloc and sees
// the rest, and for tests of C++ code.
#include <cstdlib>
#include <new>

extern "C" int shortage_refuses_memory(void);

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (shortage_refuses_memory() != 0) return nullptr;
    if (size == 0) size = 1;
    return alignment == 0 ? std::malloc(size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void *allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void *memory = allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}

} // namespace

void *operator new(std::size_t size) {
    return allocate_or_throw(size, 0);
}
void *operator new[](std::size_t size) {
    return allocate_or_throw(size, 0);
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void *operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size, 0);
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size, 0);
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete[](void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
