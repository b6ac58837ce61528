x = """open
Trainer(