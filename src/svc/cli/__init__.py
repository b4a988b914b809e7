"""The command line: a module for each sub-command."""

from svc.process.platforms import require_posix

require_posix()  # here, because the modules that need POSIX cannot even be imported without it
