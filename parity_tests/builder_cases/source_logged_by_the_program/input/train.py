import sys, argparse
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--no-clip", dest="clip", action="store_false")
    p.add_argument("--limit", type=float, default=float("inf"))
    args = p.parse_args()
    with open(sys.argv[0], encoding="utf-8") as f:
        code = f.read()
    print(len(code) > 10, args.clip, args.limit, sys.argv[1:])
if __name__ == "__main__":
    main()
