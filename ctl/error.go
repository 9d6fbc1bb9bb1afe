// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"errors"
	"fmt"
)

// Code sorts errors for programs. The set only grows.
type Code string

// Codes.
const (
	CodeInternal    Code = "internal"
	CodeInvalid     Code = "invalid"     // the request makes no sense; nothing was changed
	CodeNotFound    Code = "not_found"   // no such peer, rail or bond
	CodeDenied      Code = "denied"      // the caller may not do this
	CodeUnsupported Code = "unsupported" // this backend cannot do this
	CodeVersion     Code = "version"     // client and daemon speak no common version
	CodeMalformed   Code = "malformed"   // no request at all
	CodeBusy        Code = "busy"        // too many clients
	CodeNoDaemon    Code = "no_daemon"   // nobody listens on the socket
	CodeUnreachable Code = "unreachable" // the peer does not answer
)

// Error is an error with a code. Its message is one line and says what to do.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf gives an error's code: internal where it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
