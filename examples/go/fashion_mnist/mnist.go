// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	dataFolder = "/usr/share/datasets/fashion-mnist" // the folder of Debian's package dataset-fashion-mnist
	pixels     = 28 * 28
)

// set has one label for each image.
type set struct {
	images []uint8 // [count][pixels], 0 is background
	labels []uint8 // [count], below 10
}

// loadSet reads the gzipped IDX files <prefix>-images-idx3-ubyte.gz and <prefix>-labels-idx1-ubyte.gz. It checks
// every number in their headers.
func loadSet(folder, prefix string) (s set, err error) {
	if s.images, err = loadItems(filepath.Join(folder, prefix+"-images-idx3-ubyte.gz"), 28, 28); err != nil {
		return s, err
	}
	if s.labels, err = loadItems(filepath.Join(folder, prefix+"-labels-idx1-ubyte.gz")); err != nil {
		return s, err
	}
	largest := uint8(0)
	for _, label := range s.labels {
		if label > largest {
			largest = label
		}
	}
	if len(s.images) != len(s.labels)*pixels || largest >= classes {
		return s, fmt.Errorf("%s: %s has %d images and %d labels, the largest %d; there must be one label per image, below %d", folder,
			prefix, len(s.images)/pixels, len(s.labels), largest, classes)
	}
	return s, nil
}

// loadItems reads an IDX file. Its parts: 0, 0, type (8: unsigned bytes), rank; each dimension, 32 bits big-endian; the
// bytes of the items.
func loadItems(path string, shape ...uint32) ([]uint8, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (install dataset-fashion-mnist, or say where it is with --data)", err)
	}
	defer file.Close()
	stream, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	header := struct {
		Magic [4]uint8
		Count uint32
	}{}
	dimensions := make([]uint32, len(shape))
	if err := binary.Read(stream, binary.BigEndian, &header); err != nil {
		return nil, fmt.Errorf("%s: too short for an IDX file: %w", path, err)
	}
	if err := binary.Read(stream, binary.BigEndian, dimensions); err != nil {
		return nil, fmt.Errorf("%s: too short for an IDX file: %w", path, err)
	}
	if header.Magic != [4]uint8{0, 0, 8, uint8(len(shape) + 1)} {
		return nil, fmt.Errorf("%s: not an IDX file of unsigned bytes with the dimensions expected here", path)
	}
	if header.Count == 0 || header.Count > 1000000 {
		return nil, fmt.Errorf("%s: has no items, or more than a million", path)
	}
	size := int(header.Count)
	for i, length := range shape {
		if dimensions[i] != length {
			return nil, fmt.Errorf("%s: images are not 28 x 28", path)
		}
		size *= int(length)
	}
	items := make([]uint8, size)
	if _, err := io.ReadFull(stream, items); err != nil {
		return nil, fmt.Errorf("%s: file is too short or damaged: %w", path, err)
	}
	if _, err := io.ReadFull(stream, make([]uint8, 1)); err != io.EOF {
		return nil, fmt.Errorf("%s: file has bytes after its last item, or is damaged", path)
	}
	return items, nil
}
