# SPDX-License-Identifier: Apache-2.0
#
# Writes the manual page of the program FROM (farcall or farcalld, run by EMULATOR) to TO,
# out of what --help says. Run by builds (Texts.cmake).

# Sets `out` to what the program says, escaped: a hyphen of a flag must stay a hyphen when
# it is copied from the page.
function(ask out)
  execute_process(COMMAND ${EMULATOR} ${FROM} ${ARGN} OUTPUT_VARIABLE text
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Makes paragraphs of "  -l, --flag=VALUE", a line each, and of the lines below them.
function(mark_options variable)
  set(text "${${variable}}")
  string(REGEX REPLACE "\n  \\\\-(.), \\\\-\\\\-"
    "\n.TP\n\\\\fB\\\\-\\1\\\\fR, \\\\fB\\\\-\\\\-" text "${text}")
  string(REGEX REPLACE "\n      \\\\-\\\\-" "\n.TP\n\\\\fB\\\\-\\\\-" text "${text}")
  string(REGEX REPLACE "(\\\\fB\\\\-\\\\-[^=[\n]+)(\\[?=)([^\n]+)\n        "
    "\\1\\\\fR\\2\\\\fI\\3\\\\fR\n" text "${text}")
  string(REGEX REPLACE "(\\\\fB\\\\-\\\\-[^=\n]+)\n        " "\\1\\\\fR\n" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

set(farcalld_head [[
.\" SPDX-License-Identifier: Apache-2.0
.TH FARCALLD 8
.SH NAME
farcalld \- serve compiled MLIR and IREE modules over HTTP
.SH SYNOPSIS
.B farcalld
[options] PATH...
.SH DESCRIPTION
Serves the functions of modules (*.so, *.vmfb) and of directories of modules.
SIGTERM and SIGINT end it once the calls in flight are answered.
Each option is also a variable (FARCALL_MAX_BODY) and a key of the file of
\-\-config ("max\-body"). A flag comes before a variable, a variable before the file.
.SH OPTIONS]])
set(farcalld_rest [[

.SH EXIT STATUS
Those of sysexits.h: 64 for wrong options, 65 for a module that cannot be
loaded (\-\-strict\-load), 69 when an address cannot be had, 71 without resources.
.SH SEE ALSO
.BR farcall (1)
]])
set(farcall_head [[
.\" SPDX-License-Identifier: Apache-2.0
.TH FARCALL 1
.SH NAME
farcall \- compile, call and measure compiled MLIR and IREE functions
.SH SYNOPSIS
.B farcall
VERB [options] ...
.SH DESCRIPTION
Makes modules, calls their functions with or without a server, and shows what a
server of farcalld offers. farcall VERB \-\-help prints the options of one verb.
.SH VERBS]])
set(farcall_rest [[

.SH ENVIRONMENT
.TP
.B FARCALL_SERVER
the server of verbs that ask one, unless \-\-server says another
.TP
.B FARCALL_CA
the authorities of servers with https, unless \-\-ca names others
.TP
.B FARCALL_TOKEN
the secret that the server wants, unless \-\-token names a file with one
.TP
.B NO_COLOR
no colours, also on a terminal
.SH EXIT STATUS
0: it worked. 1: the module or the server answered an error, or a goal was missed.
64: the command line is wrong. 65: a local file or an input is wrong. 69: the server,
or a tool that is needed, is not there. 2: diff met trouble.
.SH SEE ALSO
.BR farcalld (8)
]])

ask(page --help)
if(TO MATCHES "farcalld[.]8$")
  string(REGEX REPLACE "^.*\n\nOptions:(.*)\n\nEvery option.*$" "\\1" page "${page}")
  mark_options(page)
  file(WRITE ${TO} "${farcalld_head}${page}${farcalld_rest}")
  return()
endif()
string(REGEX MATCHALL "\n  [a-z]+ " verbs "${page}")
set(pages)
foreach(verb IN LISTS verbs)
  string(STRIP "${verb}" verb)
  ask(page ${verb} --help)
  string(REGEX REPLACE
    "^usage: farcall ([^\n]*) \\[options\\]([^\n]*)\n\n([^\n]*)\n\noptions:"
    "\n.SS farcall \\1\\2\n\\3" page "${page}")
  string(REGEX REPLACE "\n  \\\\-h, \\\\-\\\\-help .*$" "" page "${page}")
  string(REGEX REPLACE "\n  (    |\\\\-., )(\\\\-\\\\-[^ \n]+)[ \n] *" "\n  \\1\\2\n        "
    page "${page}")
  mark_options(page)
  string(APPEND pages "${page}")
endforeach()
file(WRITE ${TO} "${farcall_head}${pages}${farcall_rest}")
