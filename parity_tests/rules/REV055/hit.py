import logging
import warnings

from prepare import print0

log = logging.getLogger("train")


def a(loader):
    try:
        loader.start()
    except OSError as error:  # expect
        print("loader failed", error)
    for batch in loader:
        try:
            batch.check()
        except ValueError:  # expect
            log.warning("bad batch")
            continue
        except KeyError as error:  # expect
            warnings.warn(str(error))
        except RuntimeError:  # expect
            print0("batch failed")
            pass
