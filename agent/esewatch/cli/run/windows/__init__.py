"""`esewatch windows`: what the service may do on this Windows server, given and taken back."""
