// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"runtime"
	"unsafe"
)

// Config says what kind of strategy, on which devices, with which limits: dotted keys with text values, such as
// "devices": "cpu*4". One goroutine at a time.
type Config struct{ handle *C.mdist_config_t }

// NewConfig returns a config that begins with the environment, as LoadEnvironment reads it. Keys that are set later
// override it.
func NewConfig() (*Config, error) {
	config, err := NewEmptyConfig()
	if err == nil {
		err = config.LoadEnvironment()
	}
	return config, err
}

// NewEmptyConfig returns a config with every key at its default; the environment is not looked at. A launcher's workers
// that use it train alone, or are refused.
func NewEmptyConfig() (*Config, error) {
	if err := checkVersion(); err != nil {
		return nil, err
	}
	config := &Config{}
	var story *C.mdist_error_t
	if err := check(C.mdist_config_create(&config.handle, &story), &story); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(config, (*Config).Close)
	return config, nil
}

// Set sets a key. The value is checked at once; an unknown key's error names its nearest neighbour.
func (c *Config) Set(key, value string) error {
	keyText, err := cText("the key", key)
	if err != nil {
		return err
	}
	defer freeText(keyText)
	valueText, err := cText("the value of "+key, value)
	if err != nil {
		return err
	}
	defer freeText(valueText)
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_config_set(c.handle, keyText, valueText, &story), &story)
}

// Get returns the text of a key, its default where nobody set it.
func (c *Config) Get(key string) (string, error) {
	keyText, err := cText("the key", key)
	if err != nil {
		return "", err
	}
	defer freeText(keyText)
	defer runtime.KeepAlive(c)
	return text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
		var story *C.mdist_error_t
		return check(C.mdist_config_get(c.handle, keyText, at, capacity, needed, &story), &story)
	})
}

// Load reads a YAML file, all of it or, on an error, nothing.
func (c *Config) Load(path string) error {
	pathText, err := cText("the path", path)
	if err != nil {
		return err
	}
	defer freeText(pathText)
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_config_load(c.handle, pathText, &story), &story)
}

// LoadText reads YAML from memory.
func (c *Config) LoadText(yaml string) error {
	yamlText := C.CString(yaml)
	defer C.free(unsafe.Pointer(yamlText))
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_config_load_text(c.handle, yamlText, C.size_t(len(yaml)), &story), &story)
}

// LoadEnvironment reads the file named by MDIST_CONFIG, then every MDIST_* variable, over what is there. The library asks the
// process's environment, which is also what os.Setenv changes in a program with cgo.
func (c *Config) LoadEnvironment() error {
	defer runtime.KeepAlive(c)
	var story *C.mdist_error_t
	return check(C.mdist_config_load_environment(c.handle, &story), &story)
}

// Close frees the config. A strategy made from it does not need it any more.
func (c *Config) Close() {
	runtime.SetFinalizer(c, nil)
	C.mdist_config_destroy(c.handle)
}

// text asks for a text twice: how long it is, and what it says.
func text(get func(at *C.char, capacity C.size_t, needed *C.size_t) error) (string, error) {
	var needed C.size_t
	if err := get(nil, 0, &needed); err != nil {
		return "", err
	}
	bytes := make([]byte, needed)
	if err := get((*C.char)(unsafe.Pointer(&bytes[0])), needed, nil); err != nil {
		return "", err
	}
	return string(bytes[:needed-1]), nil
}
