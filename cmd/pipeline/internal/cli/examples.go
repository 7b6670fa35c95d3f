package cli

import "github.com/spf13/cobra"

// exampleLines are the examples of commands that do not bring their own, by
// what is typed to run them. They are for the worked example.
var exampleLines = map[string]string{
	"pipeline": "  pipeline validate examples/payments.hcl\n" +
		"  pipeline dev examples/payments.hcl --input examples/payments.jsonl\n" +
		"  pipeline run examples/payments.hcl --var redis_url=redis://localhost:6379",
	"pipeline validate": "  pipeline validate examples/payments.hcl\n" +
		"  pipeline validate examples/orders --var-file production.hcl\n" +
		"  pipeline validate examples/payments.hcl --json | jq -r .code",
	"pipeline run": "  pipeline run examples/payments.hcl\n" +
		"  pipeline run examples/payments.hcl --watch --log-level debug\n" +
		"  pipeline run examples/payments.hcl --seek fraud=24h\n" +
		"  PIPELINE_VAR_min_idle=10s pipeline run examples/payments.hcl",
	"pipeline monitor": "  pipeline monitor examples/payments.hcl\n" +
		"  pipeline monitor examples/payments.hcl --ops-listen 0.0.0.0:9630\n" +
		"  curl -s http://127.0.0.1:9630/metrics | grep pipeline_group_lag",
	"pipeline dev": "  pipeline dev examples/payments.hcl --input examples/payments.jsonl\n" +
		"  echo '{\"id\":1,\"account\":\"acct-1\",\"amount_cents\":99}' | pipeline dev examples/payments.hcl --stream payments --input -",
	"pipeline dry-run": "  pipeline dry-run examples/payments.hcl --input examples/payments.jsonl\n" +
		"  pipeline dry-run examples/orders --input examples/orders/orders.jsonl --strict --json\n" +
		"  pipeline dry-run examples/payments.hcl --live --from 24h --sample 1%\n" +
		"  git worktree add /tmp/released v1.2.0 &&\n" +
		"    pipeline dry-run examples/payments.hcl --live --count 100000 --against /tmp/released/examples/payments.hcl",
	"pipeline test": "  pipeline test examples/payments.hcl\n" +
		"  pipeline test examples/orders --run 'coupon|express' --junit report.xml\n" +
		"  pipeline test examples/payments.hcl --json | jq -r 'select(.status == \"fail\") | .name'",
	"pipeline publish": "  pipeline publish examples/payments.hcl --input examples/payments.jsonl\n" +
		"  echo '{\"id\":1,\"account\":\"acct-1\",\"amount_cents\":99}' | pipeline publish examples/payments.hcl --to payments",
	"pipeline pending": "  pipeline pending list examples/payments.hcl",
	"pipeline pending list": "  pipeline pending list examples/payments.hcl\n" +
		"  pipeline pending list examples/payments.hcl --group ledger --limit 10 --json",
	"pipeline pending show": "  pipeline pending show examples/payments.hcl 1700000000000-0",
	"pipeline dlq": "  pipeline dlq list examples/payments.hcl\n" +
		"  pipeline dlq stats examples/payments.hcl ledger --since 24h",
	"pipeline dlq list": "  pipeline dlq list examples/payments.hcl --newest --limit 20\n" +
		"  pipeline dlq list examples/payments.hcl ledger --reason failed --error 'no such account' --since 24h\n" +
		"  pipeline dlq list examples/payments.hcl --count --json | jq .matched",
	"pipeline dlq show": "  pipeline dlq show examples/payments.hcl 1700000000000-0",
	"pipeline dlq stats": "  pipeline dlq stats examples/payments.hcl\n" +
		"  pipeline dlq stats examples/payments.hcl payments.dead --reason failed --top 3 --json",
	"pipeline dlq replay": "  pipeline dlq replay examples/payments.hcl ledger --reason failed --since 24h\n" +
		"  pipeline dlq replay examples/payments.hcl --id 1700000000000-0 --yes\n" +
		"  pipeline dlq replay examples/payments.hcl --selection chosen.jsonl --yes --rate 100",
	"pipeline dlq drop": "  pipeline dlq drop examples/payments.hcl fraud --reason invalid --until 30d\n" +
		"  pipeline dlq drop examples/payments.hcl --selection chosen.jsonl --yes",
	"pipeline dlq export": "  pipeline dlq export examples/payments.hcl --output letters.jsonl\n" +
		"  pipeline dlq export examples/payments.hcl --id 1700000000000-0 |\n" +
		"    pipeline dry-run examples/payments.hcl --input -",
	"pipeline consumers": "  pipeline consumers list examples/payments.hcl\n" +
		"  pipeline consumers prune examples/payments.hcl --all",
	"pipeline seek": "  pipeline seek examples/payments.hcl ledger=0\n" +
		"  pipeline seek examples/payments.hcl ledger=2h\n" +
		"  pipeline seek examples/payments.hcl fraud=1700000000000-0 --at 1700000360000-0 --yes",
	"pipeline plan":    "  pipeline plan examples/payments.hcl\n  pipeline plan examples/payments.hcl --capacity --rate 250 --outage 2h --entry-bytes 400B",
	"pipeline apply":   "  pipeline plan examples/payments.hcl && pipeline apply examples/payments.hcl",
	"pipeline explain": "  pipeline explain missing_argument\n  pipeline explain | less",
	"pipeline fmt":     "  pipeline fmt .\n  pipeline fmt --check --diff examples",
	"pipeline version": "  pipeline version\n  pipeline version --json | jq -r .version",
}

// addExamples gives a command and all below it their examples.
func addExamples(root *cobra.Command) {
	eachCommand(root, func(c *cobra.Command) {
		if c.Example == "" {
			c.Example = exampleLines[c.CommandPath()]
		}
	})
}
