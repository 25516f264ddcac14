"""The same numbers in less time; everything here has a plain counterpart it is tested against."""
