"""Games in the browser: playing (`symphony9 play`) and watching records (`symphony9 watch`)."""
