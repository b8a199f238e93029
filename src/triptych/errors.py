"""The one exception for mistakes that a user can make and mend."""


class UserError(Exception):
    """One clear sentence: what is wrong, where, and what to do. The command line prints it and exits with 2."""
