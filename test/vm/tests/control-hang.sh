#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-timeout: 20s
# vm-expect: timeout
# Positive control: a guest that does not end is ended.
exec sleep 1000
