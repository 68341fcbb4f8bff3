"""The studies of the five works: their files checked, their short forms run to the end."""
