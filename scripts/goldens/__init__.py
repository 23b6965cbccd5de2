"""What scripts/make_goldens.py is made of: the reference in PyTorch, and the cases."""
