# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of cases, one file per kind of fault."""
