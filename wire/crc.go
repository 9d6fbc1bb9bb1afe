// SPDX-License-Identifier: Apache-2.0

package wire

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum gives the CRC32C of a frame: head, whose CRC field is taken as zero, and
// then parts.
func Sum(head []byte, parts ...[]byte) uint32 {
	sum := ^crc32.Update(0, castagnoli, head[:12])
	for range 4 { // the CRC field; an array of zeros would escape to the heap
		sum = castagnoli[byte(sum)] ^ sum>>8
	}
	sum = crc32.Update(^sum, castagnoli, head[HeaderLen:])
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}

// Seal sets the CRC of a frame whose header is at the start of head.
func Seal(head []byte, parts ...[]byte) {
	head[1] |= FlagCRC
	le.PutUint32(head[12:], Sum(head, parts...))
}
