// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
)

// Offsets in a bzImage: Documentation/arch/x86/boot.rst of the kernel.
const (
	setupSectorsAt  = 0x1f1 // byte: 512-byte sectors of setup after the boot sector
	headerMagicAt   = 0x202 // "HdrS"
	payloadOffsetAt = 0x248 // u32, from the end of setup
	payloadLengthAt = 0x24c // u32
	sectorBytes     = 512
)

// compressions are the formats Debian has used, by what they begin with. All but
// gzip are followed by the plain size in four bytes, little-endian.
var compressions = []struct {
	magic    string
	tool     string
	withSize bool
}{
	{"\xfd7zXZ\x00", "xz", true},
	{"\x28\xb5\x2f\xfd", "zstd", true},
	{"\x1f\x8b\x08", "gzip", false},
}

// decompress gives the ELF kernel inside a bzImage.
func decompress(image []byte) ([]byte, error) {
	if len(image) < payloadLengthAt+4 || string(image[headerMagicAt:headerMagicAt+4]) != "HdrS" {
		return nil, errors.New("no bzImage")
	}
	start := (int(image[setupSectorsAt])+1)*sectorBytes + int(binary.LittleEndian.Uint32(image[payloadOffsetAt:]))
	length := int(binary.LittleEndian.Uint32(image[payloadLengthAt:]))
	if length < 4 || start+length > len(image) {
		return nil, errors.New("the image is shorter than its header says")
	}
	payload := image[start : start+length]
	for _, c := range compressions {
		if !bytes.HasPrefix(payload, []byte(c.magic)) {
			continue
		}
		size := int(binary.LittleEndian.Uint32(payload[length-4:])) // gzip's own trailer says the same
		if c.withSize {
			payload = payload[:length-4]
		}
		cmd := exec.Command(c.tool, "-dc")
		cmd.Stdin = bytes.NewReader(payload)
		plain, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s -dc: %w", c.tool, err)
		}
		if len(plain) != size || !bytes.HasPrefix(plain, []byte("\x7fELF")) {
			return nil, fmt.Errorf("%s gave %d bytes that are no kernel of %d", c.tool, len(plain), size)
		}
		return plain, nil
	}
	return nil, errors.New("unknown compression of the kernel")
}
