python3 -m MaxText.train MaxText/configs/base.yml model_name=llama2-7b per_device_batch_size=4 ici_tensor_parallelism=2
