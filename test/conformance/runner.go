// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildRunner compiles the C core and its runner with cc into a folder, and
// gives the program. root is the tree's root.
func BuildRunner(root, dir string) (program string, err error) {
	program = filepath.Join(dir, "runner")
	args := []string{"-std=gnu11", "-g", "-O2", "-Wall", "-Wextra", "-Werror",
		"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program}
	for _, folder := range []string{"test/conformance/runner", "kmod/tbnet2/core"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.c"))
		if err != nil {
			return "", err
		}
		args = append(args, files...)
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return program, nil
}

// Runner is a running C core that plays scripts. Its methods must not run at
// the same time.
type Runner struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

// StartRunner starts a program that BuildRunner has made.
func StartRunner(program string) (*Runner, error) {
	r := &Runner{cmd: exec.Command(program, "scripts")}
	r.cmd.Stderr = &r.stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReaderSize(out, 1<<20)
	return r, r.cmd.Start()
}

// ErrLeft is wrapped where a script has left something over at its end.
var ErrLeft = errors.New("the C core is not clean at the end")

// Play plays the bare lines of a script and gives what each step brings. After
// an error that does not wrap ErrLeft the runner has ended.
func (r *Runner) Play(lines []string) (steps [][]string, err error) {
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(r.in, strings.Join(lines, "\n")+"\n.\n")
		wrote <- err
	}()
	for {
		line, err := r.out.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err != nil:
			return steps, r.died(err)
		case line == "at":
			steps = append(steps, nil)
		case line == "end":
			return steps, <-wrote
		case strings.HasPrefix(line, "end:"):
			return steps, errors.Join(fmt.Errorf("%w:%s", ErrLeft, line[4:]), <-wrote)
		case len(steps) == 0:
			return steps, fmt.Errorf("the C core says %q before any step", line)
		default:
			steps[len(steps)-1] = append(steps[len(steps)-1], line)
		}
	}
}

// died gives what the runner said before it ended.
func (r *Runner) died(cause error) error {
	_ = r.in.Close()
	err := r.cmd.Wait()
	return fmt.Errorf("the C core ended: %w (%w)\n%s", err, cause, r.stderr.String())
}

// Close ends the runner; the error tells what it left over.
func (r *Runner) Close() error {
	_ = r.in.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, r.stderr.String())
	}
	return nil
}
