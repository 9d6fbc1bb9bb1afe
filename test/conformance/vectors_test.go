// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// frameVector is a frame of test/vectors/frames.txt: what it holds or the
// reason to refuse it, as lines, and its bytes in hex.
type frameVector struct {
	name  string
	lines []string
	hex   string
}

func readFrameVectors(t *testing.T) []frameVector {
	t.Helper()
	text, err := os.ReadFile(root + "/test/vectors/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []frameVector
	var v frameVector
	for _, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#", "":
		case "frame":
			v = frameVector{name: rest}
		case "bytes":
			v.hex = rest
			vectors = append(vectors, v)
		default:
			v.lines = append(v.lines, line)
		}
	}
	return vectors
}

// otherOrder are HELLOs that our cores would not write so.
var otherOrder = map[string]bool{"hello_required_only": true, "hello_any_order_and_unknown": true}

// TestVectorsC has the C core read every frame of frames.txt, and write it
// again.
func TestVectorsC(t *testing.T) {
	vectors := readFrameVectors(t)
	var in bytes.Buffer
	for _, v := range vectors {
		in.WriteString(v.hex + "\n")
	}
	cmd := exec.Command(runnerProgram(t), "frames")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(string(out), ".\n")
	if len(answers) != len(vectors)+1 || len(vectors) < 40 {
		t.Fatalf("%d answers for %d frames, want at least 40", len(answers)-1, len(vectors))
	}
	for i, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			want := strings.Join(v.lines, "\n") + "\n"
			got, again, ok := strings.Cut(answers[i], "again ")
			if got != want {
				t.Fatalf("got\n%swant\n%s", got, want)
			}
			if ok && !otherOrder[v.name] && again != v.hex+"\n" {
				t.Errorf("written again:\n%swant\n%s", again, v.hex)
			}
		})
	}
}
