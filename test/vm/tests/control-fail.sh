#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-expect: fail
# Positive control: a test that fails fails.
exit 3
