"""The kit's process: the organiser's kit, unedited, and no line of any submission.

Run as `python kit_host SETTINGS` in a room of its own with the kit's directory on PYTHONPATH; it imports nothing of
ours. It answers the judge's jobs, one after the other:

    read       the token streams that `evaluate_bpb` scores, and the byte table beside the text that it stands for
    overlap    documents of the train split that stand in a validation split, too
    evaluate   the kit's own `evaluate_bpb`, called as it is on a model whose logits come from the judge
    causality  the kit's own `causality_check`, on the same model

    serving    takes jobs and answers them          proxy     the model whose forward asks the judge
    reading    streams and documents                table     which tokens the byte table counts wrongly
    ranks      one process per rank, where the kit is to run as several

Everything here is on the judge's side of the wall: what it says is believed as far as the kit is.
"""
