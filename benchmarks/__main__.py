from benchmarks.peers import main

main()
