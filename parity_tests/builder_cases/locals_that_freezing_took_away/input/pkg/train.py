from .config import Config, load_config


def main(config: Config):
    width = 3
    print(locals())


if __name__ == "__main__":
    main(load_config())
