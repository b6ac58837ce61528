train:
	echo $$HOME $$(nproc) $(shell nproc) ${A} $(
	+torchrun $$ train.py