// Command etcd is etcd as its module exports it: the published server module
// holds the program's code but not its main package.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
