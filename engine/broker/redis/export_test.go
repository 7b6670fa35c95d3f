package redis

// Trial is the command with which a need is checked, nil for the transaction's
// own.
func Trial(n Need) []any {
	list, err := n.trial()
	if err != nil {
		panic(err)
	}
	return list
}
