package web

// MaxFollowing is how many pages are kept up to date at once.
const MaxFollowing = maxFollowing

// Told is how texts of errors are told.
var Told = told
