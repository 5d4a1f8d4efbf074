import sys, time, cProfile, pstats, io, gc
from pathlib import Path
import streamlit as st
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))
from attnviz.ui import frame, warm_up
frame.pages = lambda: [st.Page(ROOT / "pages" / "explore.py", title="Explore", default=True)]
t=time.perf_counter()
st.set_page_config(page_title="attnviz", page_icon="🔍", layout="wide")
pg=frame.navigation()
t1=time.perf_counter()
if Path("/tmp/bench/prof/on").exists():
    pr=cProfile.Profile(); pr.enable()
    try: pg.run()
    finally:
        pr.disable(); pr.dump_stats(f"/tmp/bench/prof/{time.time():.3f}.prof")
else:
    pg.run()
t2=time.perf_counter()
print(f"RUN frame {1e3*(t1-t):.1f} page {1e3*(t2-t1):.1f} objects {len(gc.get_objects())}", flush=True)
warm_up.start()
