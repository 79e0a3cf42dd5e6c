"""Workers: their connections, their sessions and the executor that runs an attempt on one of them."""
